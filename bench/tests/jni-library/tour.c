/* The native half of Tour.java: each function writes what it sees into `out`, which it returns. */

#include <jni.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static JavaVM *java_vm;
static jclass tour;
static char out[8192];
static size_t used;

static void begin(void) {
    used = 0;
    out[0] = 0;
}

static void put(const char *format, ...) {
    va_list list;
    va_start(list, format);
    used += vsnprintf(out + used, sizeof out - used, format, list);
    va_end(list);
}

static void put_string(JNIEnv *env, jstring string) {
    if (string == NULL) {
        put("null; ");
        return;
    }
    const char *text = (*env)->GetStringUTFChars(env, string, NULL);
    put("%s; ", text);
    (*env)->ReleaseStringUTFChars(env, string, text);
}

static void put_object(JNIEnv *env, jobject object) {
    jclass class = (*env)->FindClass(env, "java/lang/Object");
    jmethodID method = (*env)->GetMethodID(env, class, "toString", "()Ljava/lang/String;");
    put_string(env, (*env)->CallObjectMethod(env, object, method));
}

static void put_exception(JNIEnv *env) {
    jthrowable thrown = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    if (thrown == NULL) put("nothing; ");
    else put_object(env, thrown);
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env;
    java_vm = vm;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) != JNI_OK) return -1;
    /* Found by the loader of the class that loads the library. */
    tour = (*env)->NewGlobalRef(env, (*env)->FindClass(env, "Tour"));
    return JNI_VERSION_1_8;
}

JNIEXPORT jdouble JNICALL Java_Tour_everything(JNIEnv *env, jclass class, jboolean z, jbyte b, jchar c,
        jshort s, jint i, jlong j, jfloat f, jdouble d, jobject o, jintArray a, jdouble d2, jfloat f2,
        jlong j2, jint i2, jint i3, jdouble d3, jdouble d4, jdouble d5, jdouble d6, jdouble d7,
        jdouble d8, jfloat f3) {
    return z + 2. * b + 3. * c + 5. * s + 7. * i + 11. * j + 13. * f + 17. * d
        + 19. * (*env)->GetArrayLength(env, a) + 23. * d2 + 29. * f2 + 31. * j2 + 37. * i2 + 41. * i3
        + 43. * d3 + 47. * d4 + 53. * d5 + 59. * d6 + 61. * d7 + 67. * d8 + 71. * f3 + (o != NULL);
}

/* Results are as wide as Java's types, for any upper bits of the register. */
JNIEXPORT jint JNICALL Java_Tour_narrowBoolean(JNIEnv *env, jclass class, jint value) { return value; }
JNIEXPORT jint JNICALL Java_Tour_narrowByte(JNIEnv *env, jclass class, jint value) { return value; }
JNIEXPORT jint JNICALL Java_Tour_narrowChar(JNIEnv *env, jclass class, jint value) { return value; }
JNIEXPORT jint JNICALL Java_Tour_narrowShort(JNIEnv *env, jclass class, jint value) { return value; }

JNIEXPORT jfloat JNICALL Java_Tour_sum(JNIEnv *env, jclass class, jfloat a, jdouble b) {
    return a + b;
}

JNIEXPORT jstring JNICALL Java_Tour_fields(JNIEnv *env, jobject this) {
    jclass class = (*env)->GetObjectClass(env, this);
    jfieldID id;
    begin();
#define FIELD(name, type, descriptor, format, new) \
    id = (*env)->GetFieldID(env, class, name, descriptor); \
    put(format " ", (*env)->Get##type##Field(env, this, id)); \
    (*env)->Set##type##Field(env, this, id, new)
    FIELD("i", Int, "I", "%d", 101);
    FIELD("j", Long, "J", "%ld", 102);
    FIELD("f", Float, "F", "%g", 103.5f);
    FIELD("d", Double, "D", "%g", 104.5);
    FIELD("z", Boolean, "Z", "%d", 0);
    FIELD("b", Byte, "B", "%d", -6);
    FIELD("c", Char, "C", "%d", 'Z');
    FIELD("s", Short, "S", "%d", -77);
    FIELD("v", Long, "J", "%ld", 99);
#undef FIELD
    id = (*env)->GetFieldID(env, class, "text", "Ljava/lang/String;");
    put_string(env, (*env)->GetObjectField(env, this, id));
    (*env)->SetObjectField(env, this, id, (*env)->NewStringUTF(env, "changed"));
    id = (*env)->GetStaticFieldID(env, class, "si", "I");
    put("%d ", (*env)->GetStaticIntField(env, class, id));
    (*env)->SetStaticIntField(env, class, id, 201);
    id = (*env)->GetStaticFieldID(env, class, "so", "Ljava/lang/Object;");
    put_object(env, (*env)->GetStaticObjectField(env, class, id));
    (*env)->SetStaticObjectField(env, class, id, NULL);
    (*env)->GetFieldID(env, class, "si", "I");
    put_exception(env);
    (*env)->GetStaticFieldID(env, class, "i", "I");
    put_exception(env);
    return (*env)->NewStringUTF(env, out);
}

static jobject call_v(JNIEnv *env, jobject object, jmethodID method, ...) {
    va_list list;
    va_start(list, method);
    jobject result = (*env)->CallObjectMethodV(env, object, method, list);
    va_end(list);
    return result;
}

static void put_calls_with_many_arguments(JNIEnv *env) {
    const char *descriptor = "(ZBCSIJFDLjava/lang/String;DDDDDDDD)Ljava/lang/String;";
    jmethodID join = (*env)->GetStaticMethodID(env, tour, "join", descriptor);
    put_string(env, (*env)->CallStaticObjectMethod(env, tour, join, JNI_TRUE, (jbyte)-1, (jchar)'c',
        (jshort)-2, -3, (jlong)-4, 5.5f, 6.5, (*env)->NewStringUTF(env, "text"), 1., 2., 3., 4., 5.,
        6., 7., 8.));
    jvalue values[17];
    memset(values, 0xee, sizeof values);
    values[0].z = 0;
    values[1].b = 1;
    values[2].c = 'd';
    values[3].s = 2;
    values[4].i = 3;
    values[5].j = 4;
    values[6].f = 5.25f;
    values[7].d = 6.25;
    values[8].l = NULL;
    for (int at = 9; at < 17; at++) values[at].d = at;
    put_string(env, (*env)->CallStaticObjectMethodA(env, tour, join, values));
}

JNIEXPORT jstring JNICALL Java_Tour_calls(JNIEnv *env, jclass class, jobject this, jobject square,
        jobject odd) {
    begin();
    put_calls_with_many_arguments(env);
    /* Any byte but 0 is true. */
    jmethodID same = (*env)->GetStaticMethodID(env, tour, "same", "(Z)Z");
    put("%d %d %d ", (*env)->CallStaticBooleanMethod(env, tour, same, 2),
        (*env)->CallStaticBooleanMethod(env, tour, same, 0x80), (*env)->CallStaticBooleanMethod(env, tour, same, 0x100));
    jmethodID mix = (*env)->GetMethodID(env, class, "mix", "(IJDF)Ljava/lang/String;");
    put_string(env, (*env)->CallObjectMethod(env, this, mix, 1, (jlong)2, 3.5, 4.5f));
    put_string(env, call_v(env, this, mix, -1, (jlong)-2, -3.5, -4.5f));
    jclass shape_class = (*env)->FindClass(env, "Tour$Shape");
    jclass square_class = (*env)->FindClass(env, "Tour$Square");
    jclass odd_class = (*env)->FindClass(env, "Tour$Odd");
    jmethodID area = (*env)->GetMethodID(env, shape_class, "area", "()D");
    put("%g %g ", (*env)->CallDoubleMethod(env, square, area), (*env)->CallDoubleMethod(env, odd, area));
    area = (*env)->GetMethodID(env, square_class, "area", "()D");
    put("%g ", (*env)->CallDoubleMethod(env, odd, area));
    put("%g ", (*env)->CallNonvirtualDoubleMethod(env, odd, square_class, area));
    jmethodID maker = (*env)->GetMethodID(env, square_class, "<init>", "(D)V");
    put("%g ", (*env)->CallDoubleMethod(env, (*env)->NewObject(env, square_class, maker, 1.5), area));
    jmethodID secret = (*env)->GetMethodID(env, odd_class, "secret", "()I");
    put("%d ", (*env)->CallIntMethod(env, odd, secret));
    jmethodID name = (*env)->GetMethodID(env, odd_class, "name", "()Ljava/lang/String;");
    put_string(env, (*env)->CallObjectMethod(env, odd, name));
#define METHOD(name, type, descriptor, format) \
    put(format " ", (*env)->Call##type##Method(env, this, (*env)->GetMethodID(env, class, name, descriptor)))
    METHOD("yes", Boolean, "()Z", "%d");
    METHOD("aByte", Byte, "()B", "%d");
    METHOD("aChar", Char, "()C", "%d");
    METHOD("aShort", Short, "()S", "%d");
    METHOD("anInt", Int, "()I", "%d");
    METHOD("aLong", Long, "()J", "%ld");
#undef METHOD
    jmethodID a_float = (*env)->GetStaticMethodID(env, class, "aFloat", "()F");
    put("%g ", (*env)->CallStaticFloatMethod(env, class, a_float));
    (*env)->GetStaticMethodID(env, class, "anInt", "()I");
    put_exception(env);
    (*env)->FindClass(env, "no/such/Class");
    put_exception(env);
    (*env)->AllocObject(env, shape_class);
    put_exception(env);
    put("%d %d ", (*env)->IsAssignableFrom(env, odd_class, square_class),
        (*env)->IsAssignableFrom(env, square_class, odd_class));
    put("%d ", (*env)->IsSameObject(env, (*env)->GetSuperclass(env, odd_class), square_class));
    put("%d %d %x", (*env)->GetSuperclass(env, shape_class) == NULL,
        (*env)->GetModule(env, class) != NULL, (*env)->GetVersion(env));
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_arrays(JNIEnv *env, jclass class, jintArray ints, jbyteArray bytes,
        jdoubleArray doubles, jobjectArray objects) {
    begin();
    jint copy[3];
    (*env)->GetIntArrayRegion(env, ints, 0, 3, copy);
    put("%d %d %d ", copy[0], copy[1], copy[2]);
    copy[1] = 22;
    (*env)->SetIntArrayRegion(env, ints, 1, 1, copy + 1);
    (*env)->GetIntArrayRegion(env, ints, 1, 5, copy);
    put_exception(env);
    jbyte *elements = (*env)->GetByteArrayElements(env, bytes, NULL);
    elements[0] = 77;
    (*env)->ReleaseByteArrayElements(env, bytes, elements, 0);
    elements = (*env)->GetByteArrayElements(env, bytes, NULL);
    elements[1] = 88;
    (*env)->ReleaseByteArrayElements(env, bytes, elements, JNI_COMMIT);
    (*env)->ReleaseByteArrayElements(env, bytes, elements, JNI_ABORT);
    jdouble *critical = (*env)->GetPrimitiveArrayCritical(env, doubles, NULL);
    critical[1] = 99.5;
    (*env)->ReleasePrimitiveArrayCritical(env, doubles, critical, 0);
    put("%d ", (*env)->GetObjectArrayElement(env, objects, 1) == NULL);
    (*env)->SetObjectArrayElement(env, objects, 1, (*env)->NewStringUTF(env, "B"));
    (*env)->GetObjectArrayElement(env, objects, 7);
    put_exception(env);
    jclass string_class = (*env)->FindClass(env, "java/lang/String");
    jobjectArray strings =
        (*env)->NewObjectArray(env, 4, string_class, (*env)->NewStringUTF(env, "initial"));
    put_object(env, (*env)->GetObjectArrayElement(env, strings, 3));
    (*env)->SetObjectArrayElement(env, strings, 0, class);
    put_exception(env);
    (*env)->NewIntArray(env, -1);
    put_exception(env);
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_strings(JNIEnv *env, jclass class, jstring string) {
    begin();
    put("%d %d ", (*env)->GetStringLength(env, string), (*env)->GetStringUTFLength(env, string));
    const jchar *units = (*env)->GetStringChars(env, string, NULL);
    put("%x %x ", units[1], units[8]);
    put_string(env, (*env)->NewString(env, units, 5));
    (*env)->ReleaseStringChars(env, string, units);
    jchar region[4];
    (*env)->GetStringRegion(env, string, 6, 3, region);
    put("%x %x %x ", region[0], region[1], region[2]);
    char text[32];
    (*env)->GetStringUTFRegion(env, string, 0, 7, text);
    put("%s ", text);
    (*env)->GetStringRegion(env, string, 10, 30, region);
    put_exception(env);
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_exceptions(JNIEnv *env, jclass class, jobject thrower) {
    begin();
    jmethodID run = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, thrower), "run", "()V");
    (*env)->CallVoidMethod(env, thrower, run);
    put("%d ", (*env)->ExceptionCheck(env));
    jthrowable thrown = (*env)->ExceptionOccurred(env);
    put_exception(env);
    put("%d ", (*env)->ExceptionCheck(env));
    put("%d ", (*env)->Throw(env, thrown));
    (*env)->ExceptionDescribe(env);
    put("%d ", (*env)->ExceptionCheck(env));
    put("%d ", (*env)->ThrowNew(env, (*env)->FindClass(env, "java/io/IOException"), "in C"));
    put_exception(env);
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_references(JNIEnv *env, jclass class, jobject object) {
    begin();
    jobject global = (*env)->NewGlobalRef(env, object);
    jobject local = (*env)->NewLocalRef(env, object);
    jweak weak = (*env)->NewWeakGlobalRef(env, object);
    put("%d %d %d ", (*env)->GetObjectRefType(env, local), (*env)->GetObjectRefType(env, global),
        (*env)->GetObjectRefType(env, weak));
    put("%d %d %d ", (*env)->IsSameObject(env, global, object), (*env)->IsSameObject(env, weak, global),
        (*env)->IsSameObject(env, local, NULL));
    (*env)->DeleteLocalRef(env, local);
    (*env)->PushLocalFrame(env, 10);
    for (int at = 0; at < 1000; at++) (*env)->NewStringUTF(env, "x");
    put_string(env, (*env)->PopLocalFrame(env, (*env)->NewStringUTF(env, "out of the frame")));
    put_object(env, global);
    (*env)->DeleteGlobalRef(env, global);
    put_object(env, weak);
    (*env)->DeleteWeakGlobalRef(env, weak);
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_monitors(JNIEnv *env, jclass class, jobject object) {
    begin();
    put("%d ", (*env)->MonitorEnter(env, object));
    put("%d ", (*env)->MonitorEnter(env, object));
    put("%d ", (*env)->MonitorExit(env, object));
    put("%d ", (*env)->MonitorExit(env, object));
    put("%d ", (*env)->MonitorExit(env, object) != 0);
    (*env)->ExceptionClear(env);
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_reflection(JNIEnv *env, jclass class, jobject method, jobject field,
        jobject constructor) {
    begin();
    jmethodID method_id = (*env)->FromReflectedMethod(env, method);
    jfieldID field_id = (*env)->FromReflectedField(env, field);
    jmethodID constructor_id = (*env)->FromReflectedMethod(env, constructor);
    put("%d %d %d ", method_id == (*env)->GetMethodID(env, class, "anInt", "()I"),
        field_id == (*env)->GetFieldID(env, class, "d", "D"),
        constructor_id == (*env)->GetMethodID(env, class, "<init>", "()V"));
    put_object(env, (*env)->ToReflectedMethod(env, class, method_id, JNI_FALSE));
    put_object(env, (*env)->ToReflectedField(env, class, field_id, JNI_FALSE));
    put_object(env, (*env)->ToReflectedMethod(env, class, constructor_id, JNI_FALSE));
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jstring JNICALL Java_Tour_late(JNIEnv *env, jclass class, jobject field, jobject method) {
    begin();
    jclass late = (*env)->FindClass(env, "java/lang/Object");
    put("%d ", (*env)->GetStaticIntField(env, late, (*env)->FromReflectedField(env, field)));
    put("%d", (*env)->CallStaticIntMethod(env, late, (*env)->FromReflectedMethod(env, method)));
    return (*env)->NewStringUTF(env, out);
}

/* Bytes that are no modified UTF-8. */
JNIEXPORT jstring JNICALL Java_Tour_malformed(JNIEnv *env, jclass class) {
    return (*env)->NewStringUTF(env, "a\xe9 \xc3( \xe2\x82x \xf0\x9f\x98\x80 \x80 \xffz");
}

JNIEXPORT jstring JNICALL Java_Tour_buffers(JNIEnv *env, jclass class, jobject buffer) {
    static char memory[64];
    begin();
    put("%d ", (*env)->GetDirectBufferAddress(env, buffer) != NULL);
    put("%ld ", (long)(*env)->GetDirectBufferCapacity(env, buffer));
    jobject own = (*env)->NewDirectByteBuffer(env, memory, sizeof memory);
    put("%d ", (*env)->GetDirectBufferAddress(env, own) == memory);
    put_object(env, own);
    put("%d ", (*env)->GetDirectBufferAddress(env, class) == NULL);
    put("%ld", (long)(*env)->GetDirectBufferCapacity(env, class));
    return (*env)->NewStringUTF(env, out);
}

JNIEXPORT jobjectArray JNICALL Java_Tour_many(JNIEnv *env, jclass class, jint count) {
    jclass object_class = (*env)->FindClass(env, "java/lang/Object");
    jobjectArray all = (*env)->NewObjectArray(env, count, object_class, NULL);
    for (int at = 0; at < count; at++) {
        char text[16];
        snprintf(text, sizeof text, "s%d", at);
        jstring string = (*env)->NewStringUTF(env, text);
        (*env)->SetObjectArrayElement(env, all, at, string);
        (*env)->DeleteLocalRef(env, string);
    }
    return all;
}

static void *attached(void *unused) {
    JNIEnv *env;
    JavaVMAttachArgs arguments = {JNI_VERSION_10, "from C", NULL};
    put("%d ", (*java_vm)->GetEnv(java_vm, (void **)&env, JNI_VERSION_10));
    put("%d ", (*java_vm)->AttachCurrentThread(java_vm, (void **)&env, &arguments));
    jmethodID call_back = (*env)->GetStaticMethodID(env, tour, "callBack", "(I)V");
    for (int at = 0; at < 100; at++) (*env)->CallStaticVoidMethod(env, tour, call_back, at);
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID current =
        (*env)->GetStaticMethodID(env, thread, "currentThread", "()Ljava/lang/Thread;");
    put_object(env, (*env)->CallStaticObjectMethod(env, thread, current));
    /* The exception is uncaught when the thread detaches. */
    jmethodID thrower = (*env)->GetStaticMethodID(env, tour, "thrower", "()V");
    (*env)->CallStaticVoidMethod(env, tour, thrower);
    put("%d ", (*env)->ExceptionCheck(env));
    put("%d", (*java_vm)->DetachCurrentThread(java_vm));
    return NULL;
}

JNIEXPORT jstring JNICALL Java_Tour_attach(JNIEnv *env, jclass class) {
    pthread_t thread;
    begin();
    pthread_create(&thread, NULL, attached, NULL);
    pthread_join(thread, NULL);
    return (*env)->NewStringUTF(env, out);
}

static void *attached_without_name(void *unused) {
    JNIEnv *env;
    JavaVMAttachArgs arguments = {JNI_VERSION_10, "", NULL};
    (*java_vm)->AttachCurrentThread(java_vm, (void **)&env, &arguments);
    jclass class = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID current = (*env)->GetStaticMethodID(env, class, "currentThread", "()Ljava/lang/Thread;");
    put_object(env, (*env)->CallStaticObjectMethod(env, class, current));
    (*java_vm)->DetachCurrentThread(java_vm);
    return NULL;
}

JNIEXPORT jstring JNICALL Java_Tour_attachWithoutName(JNIEnv *env, jclass class) {
    pthread_t thread;
    begin();
    pthread_create(&thread, NULL, attached_without_name, NULL);
    pthread_join(thread, NULL);
    return (*env)->NewStringUTF(env, out);
}

/* Runs when the thread ends, which for the main thread is after the VM. */
static void leave(void *unused) {
    void *env;
    printf("environment at the end: %d\n", (*java_vm)->GetEnv(java_vm, &env, JNI_VERSION_10));
    printf("attached at the end: %d\n", (*java_vm)->AttachCurrentThread(java_vm, &env, NULL));
    printf("detached at the end: %d\n", (*java_vm)->DetachCurrentThread(java_vm));
}

JNIEXPORT void JNICALL Java_Tour_leaveAtTheEnd(JNIEnv *env, jclass class) {
    pthread_key_t key;
    pthread_key_create(&key, leave);
    pthread_setspecific(key, java_vm);
}

JNIEXPORT void JNICALL Java_Tour_fail(JNIEnv *env, jclass class, jstring message) {
    const char *text = (*env)->GetStringUTFChars(env, message, NULL);
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalArgumentException"), text);
    (*env)->ReleaseStringUTFChars(env, message, text);
}

static jint thrice(JNIEnv *env, jobject this, jint value) {
    return 3 * value;
}

JNIEXPORT void JNICALL Java_Tour_registerInherited(JNIEnv *env, jclass class, jclass derived) {
    JNINativeMethod method = {"inherited", "(I)I", thrice};
    (*env)->RegisterNatives(env, derived, &method, 1);
}

static jint twice(JNIEnv *env, jclass class, jint value) {
    return 2 * value;
}

JNIEXPORT void JNICALL Java_Tour_register(JNIEnv *env, jclass class) {
    JNINativeMethod method = {"registered", "(I)I", twice};
    JNINativeMethod wrong = {"nonesuch", "(I)I", twice};
    (*env)->RegisterNatives(env, class, &method, 1);
    (*env)->RegisterNatives(env, class, &wrong, 1);
    (*env)->ExceptionDescribe(env);
    (*env)->ExceptionClear(env);
}
