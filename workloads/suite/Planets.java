package suite;

/** A small solar system moved by gravity: doubles in the fields of a few objects. */
public class Planets {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            Sky sky = new Sky();
            for (int step = Harness.scaled(2_000_000, size); step > 0; step--) {
                sky.advance(0.01);
            }
            return Double.doubleToLongBits(sky.energy());
        });
    }

    static final class Body {
        double x;
        double y;
        double z;
        double vx;
        double vy;
        double vz;
        final double mass;

        Body(double mass, double distance, double speed, double tilt) {
            this.mass = mass;
            x = distance;
            z = distance * tilt;
            vy = speed;
            vx = speed * tilt / 4;
        }
    }

    static final class Sky {
        private final Body[] bodies = {
            new Body(1000, 0, 0, 0),
            new Body(1, 40, 5, 0.01),
            new Body(0.3, 73, -3.7, -0.02),
            new Body(0.05, 155, 2.54, 0.08),
            new Body(0.04, 240, 2.04, 0.03),
        };

        /** Gives the sun the velocity that makes the momentum of the whole zero. */
        Sky() {
            Body sun = bodies[0];
            for (int i = 1; i < bodies.length; i++) {
                Body body = bodies[i];
                sun.vx -= body.vx * body.mass / sun.mass;
                sun.vy -= body.vy * body.mass / sun.mass;
                sun.vz -= body.vz * body.mass / sun.mass;
            }
        }

        void advance(double time) {
            for (int i = 0; i < bodies.length; i++) {
                Body a = bodies[i];
                for (int j = i + 1; j < bodies.length; j++) {
                    Body b = bodies[j];
                    double dx = a.x - b.x;
                    double dy = a.y - b.y;
                    double dz = a.z - b.z;
                    double square = dx * dx + dy * dy + dz * dz;
                    double pull = time / (square * Math.sqrt(square));
                    double onA = b.mass * pull;
                    double onB = a.mass * pull;
                    a.vx -= dx * onA;
                    a.vy -= dy * onA;
                    a.vz -= dz * onA;
                    b.vx += dx * onB;
                    b.vy += dy * onB;
                    b.vz += dz * onB;
                }
            }
            for (Body body : bodies) {
                body.x += time * body.vx;
                body.y += time * body.vy;
                body.z += time * body.vz;
            }
        }

        double energy() {
            double sum = 0;
            for (int i = 0; i < bodies.length; i++) {
                Body a = bodies[i];
                sum += a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz) / 2;
                for (int j = i + 1; j < bodies.length; j++) {
                    Body b = bodies[j];
                    double dx = a.x - b.x;
                    double dy = a.y - b.y;
                    double dz = a.z - b.z;
                    sum -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
                }
            }
            return sum;
        }
    }
}
